import { expect, test } from 'vitest'
import { secondsIn, timeText } from '../../../src/ask/traffic/time.ts'
import { Window } from '../../../src/ask/traffic/window.ts'

test.each([
  ['60s', 60],
  ['5m', 300],
  ['24h', 86_400],
  ['7d', 604_800],
])('the window %s has %i seconds', (window, seconds) => {
  expect([Window.safeParse(window).success, secondsIn(window)]).toEqual([true, seconds])
})

test.each([
  [604_800, '7 days'],
  [172_799, '47 hours'],
  [86_400, '1 day'],
  [90_000, '25 hours'],
  [3_600, '1 hour'],
  [119, '119 seconds'],
  [60, '1 minute'],
  [0, '0 seconds'],
])('%i seconds are %s', (seconds, text) => {
  expect(timeText(seconds)).toBe(text)
})
