import { html } from 'hono/html'
import { relationState } from '../../../ask/views/relations.ts'
import { describeCondition } from '../../../platform/base/condition.ts'
import type { ApplicationView } from '../../http/applications.ts'

type Html = ReturnType<typeof html>

/** Shows everything that is known of an application. */
export const application = (view: ApplicationView): Html => {
  const { namespace, application: name, status, messages, conditions, labels, wanted, config, units, leader } = view
  const id = `${namespace}/${name}`
  const notes = messages.filter((text) => !conditions.some(({ message }) => message === text))
  return html`<article data-about="${id}">
  <h2><span class="muted">${namespace}/</span>${name}</h2>
  <p><span class="status ${status.status}">${status.status}</span> ${status.message}</p>
  ${sentences('Conditions', conditions.map(describeCondition))}
  ${sentences('Messages', notes)}
  ${relations(view)}
  ${policies(view)}
  <h3>Labels</h3>
  ${Object.keys({ ...wanted, ...labels }).length === 0 ? html`<p class="muted">none</p>` : labelTable(labels, wanted)}
  <h3>Units</h3>
  ${
    units.length === 0
      ? html`<p class="muted">none</p>`
      : html`<ul>${units.map(({ unit, pod }) => html`<li>${unit} <span class="muted">pod ${pod}${leader?.unit === unit ? ', leads' : ''}</span></li>`)}</ul>`
  }
  ${services(view)}
  ${details('Config', config)}
  ${details('Settings', view.settings)}
  ${details('Databags', view.databags)}
  ${view.saved === undefined ? '' : html`<p class="muted">Saved <time datetime="${view.saved}">${view.saved.replace('T', ' ').replace(/\..*/, ' UTC')}</time></p>`}
</article>`
}

const sentences = (title: string, all: readonly string[]) =>
  all.length === 0 ? '' : html`<h3>${title}</h3><ul class="sentences">${all.map((one) => html`<li>${one}</li>`)}</ul>`

const relations = ({ namespace, relations: all }: ApplicationView) => html`<h3>Relations</h3>
${all.length === 0 ? html`<p class="muted">none</p>` : html`<ul>${all.map((one) => relation(namespace, one))}</ul>`}`

type Relation = ApplicationView['relations'][number]

const relation = (namespace: string, given: Relation) => {
  const { id, endpoint, interface: name, role, remote, says, hears } = given
  const short = remote.startsWith(`${namespace}/`) ? remote.slice(namespace.length + 1) : remote
  return html`<li>
  <details>
    <summary><b>${endpoint}</b> ${role === 'provides' ? '←' : '→'} ${short} <span class="muted">${name}, relation ${id}, ${stateOf(given)}</span></summary>
    <p><button type="button" class="link" data-select="${remote}">${remote}</button></p>
    ${bag('says', says)}${bag('hears', hears)}
  </details>
</li>`
}

const stateOf = (relation: Relation): string => {
  const state = relationState(relation)
  return state === 'stands' && relation.claim ? 'on the mesh' : state
}

const bag = (title: string, data: Readonly<Record<string, unknown>>) =>
  Object.keys(data).length === 0
    ? html`<p class="muted">${title} nothing</p>`
    : html`<p class="muted">${title}</p><pre tabindex="0">${JSON.stringify(data, null, 2)}</pre>`

const policies = ({ policies: all }: ApplicationView) => html`<h3>Policies</h3>
${
  all === undefined
    ? html`<p class="muted">not known</p>`
    : all.length === 0
      ? html`<p class="muted">none</p>`
      : html`<ul>${all.map(
          ({ name, action, target, sources, requestedBy }) => html`<li>
          <b>${action}</b> ${sources.join(', ') || 'nobody'} → ${target}
          <br /><span class="muted">${name}${requestedBy.length === 0 ? '' : html`, asked for by ${requestedBy.join(', ')}`}</span>
        </li>`,
        )}</ul>`
}`

const labelTable = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>) =>
  html`<table><thead><tr><th scope="col">Label</th><th scope="col">Held</th><th scope="col">Wanted</th></tr></thead><tbody>${[
    ...new Set([...Object.keys(wanted), ...Object.keys(labels)]),
  ].map(
    (key) => html`<tr><th scope="row">${key}</th><td>${labels[key] ?? '–'}</td><td>${wanted[key] ?? '–'}</td></tr>`,
  )}</tbody></table>`

const services = ({ services: all }: ApplicationView) =>
  all.length === 0 ? '' : html`<h3>Offered Services</h3><pre tabindex="0">${JSON.stringify(all, null, 2)}</pre>`

const details = (title: string, data: object) =>
  Object.keys(data).length === 0
    ? ''
    : html`<details><summary>${title}</summary><pre tabindex="0">${JSON.stringify(data, null, 2)}</pre></details>`
