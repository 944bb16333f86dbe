import * as z from 'zod'
import { secondsIn } from './time.ts'

/** Below a minute there are too few samples. Prometheus keeps 15 days by default, and the window before is read as well. */
const [SHORTEST, LONGEST] = [60, 7 * 86_400]

/** The time to look back, from `1m` to `7d`. */
export const Window = z
  .string()
  .regex(/^\d{1,6}[smhd]$/, 'expected a number with s, m, h or d, such as 1h')
  .refine((text) => secondsIn(text) >= SHORTEST && secondsIn(text) <= LONGEST, 'expected from 1m to 7d')
