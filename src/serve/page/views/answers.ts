import { html } from 'hono/html'
import type { Plan } from '../../../ask/preview/preview.ts'
import type { Explanation } from '../../http/explain.ts'
import type { Told } from '../relating.ts'

type Html = ReturnType<typeof html>

/** Shows the answer for two applications, with a place for all allowed requests, and a form to ask about others. */
export const why = ({ request, allowed, decided, sentence, steps, enforced }: Explanation): Html => {
  const { from = 'outside', to, port, method = '', path = '', via = 'service' } = request
  const verdict = allowed ? 'Allowed' : decided ? 'Not allowed' : 'Not decided'
  return html`<article data-why="${from} → ${to}">
  <h2>${from} <span class="muted">→</span> ${to}</h2>
  <p class="verdict ${allowed ? 'yes' : decided ? 'no' : 'unknown'}"><b>${verdict}</b> ${sentence}</p>
  ${enforced === undefined ? '' : html`<p>If audited policies were enforced, it would be ${enforced.allowed ? 'allowed' : 'refused'}.</p>`}
  <ul class="allowed-in-all" aria-label="Allowed in all" hidden></ul>
  <form id="why-form" data-from="${from}" data-to="${to}">
    <label>Port <input name="port" inputmode="numeric" value="${String(port)}" required size="6" /></label>
    <label>Method <input name="method" value="${method}" size="7" autocomplete="off" /></label>
    <label>Path <input name="path" value="${path}" size="14" autocomplete="off" spellcheck="false" /></label>
    <label>Via <select name="via">${['service', 'pod'].map((one) => (one === via ? html`<option selected>${one}</option>` : html`<option>${one}</option>`))}</select></label>
    <button class="primary">Ask</button>
    <button type="button" data-swap>The other way</button>
  </form>
  ${steps.length === 0 ? '' : html`<details><summary>How it is decided</summary><pre tabindex="0">${JSON.stringify(steps, null, 2)}</pre></details>`}
</article>`
}

const SIGNS = { created: '+', changed: '~', removed: '−' } as const

/** Shows the changes of a plan, with a button to send its event. */
export const plan = (planned: Plan, told: Told, sends: boolean): Html => {
  const { access, objects, outcomes, messages } = planned
  const lost = access.filter(({ before, after }) => before === 'allowed' && after !== 'allowed')
  const said = [...new Set(outcomes.flatMap((one) => one.messages)), ...messages]
  const isAny = objects.length > 0
  const send = html`<button type="button" class="${lost.length > 0 ? 'danger' : 'primary'}" data-send="${JSON.stringify(told)}">Send it</button> `
  return html`<article data-lost="${JSON.stringify(lost.map(({ from = '', to }) => [from, to]))}">
  ${verdictOf(lost.length, isAny)}
  ${listOf(
    'access',
    access.map(
      ({ line, after }) => html`<li class="${after === 'allowed' ? 'gained' : 'lost'}"><code>${line}</code></li>`,
    ),
  )}
  ${isAny ? changesOf(objects) : ''}
  ${listOf(
    'sentences',
    said.map((one) => html`<li>${one}</li>`),
  )}
  <p>${sends && isAny ? send : ''}<button type="button" data-discard>Discard</button></p>
</article>`
}

const verdictOf = (lost: number, isAny: boolean) => {
  if (lost > 0) return html`<p class="verdict no"><b>Access is lost (${lost})</b></p>`
  return isAny
    ? html`<p class="verdict yes"><b>No access is lost</b></p>`
    : html`<p class="verdict unknown"><b>Nothing would change</b></p>`
}

const listOf = (name: string, items: readonly Html[]) =>
  items.length === 0 ? '' : html`<ul class="${name}">${items}</ul>`

const changesOf = (objects: Plan['objects']) => html`<details>
  <summary>${objects.length === 1 ? '1 object' : `${objects.length} objects`}</summary>
  <ul>${objects.map(({ object, change, diff }) => html`<li><code>${SIGNS[change]} ${object}</code><details><summary>diff</summary><pre tabindex="0">${diff}</pre></details></li>`)}</ul>
</details>`
