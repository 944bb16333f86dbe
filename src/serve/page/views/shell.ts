import { html } from 'hono/html'
import type { Story } from '../story.ts'

export type Shell = {
  /** Events for buttons. Undefined if the page sends no events. */
  readonly story: readonly Story[] | undefined
  /** This process takes steps. */
  readonly hasSteps: boolean
  /** This process knows a Prometheus. */
  readonly hasTraffic: boolean
  /** The audience of the tokens that the server requires. */
  readonly audience?: string | undefined
}

type Html = ReturnType<typeof html>

/** Builds the page without data. Its script requests the data, with a token if needed. */
export const shell = ({ story, hasSteps, hasTraffic, audience = 'AUDIENCE' }: Shell): Html => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>meshstep</title>
    <link rel="icon" href="/page/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/page/page.css" id="__________cytoscape_stylesheet" />
    <script src="/page/cytoscape.min.js" defer></script>
    <script src="/page/elk-api.js" defer></script>
    <script src="/page/page.js" type="module"></script>
  </head>
  <body data-steps="${String(hasSteps)}" data-traffic="${String(hasTraffic)}" data-sends="${String(story !== undefined)}">
    <a class="skip" href="#list">Skip to the list of applications</a>
    <header>
      <h1><img src="/page/icon.svg" alt="" width="24" height="24" /> meshstep</h1>
      <form id="filters" role="search">
        <label>Namespace <select id="namespace"><option value="">all</option></select></label>
        <label>Search <input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="/" aria-keyshortcuts="/" /></label>
        ${hasTraffic && traffic}
        <span id="count" role="status"></span>
      </form>
      <div class="tools">
        <span id="live" data-state="connecting" role="status">connecting</span>
        <button type="button" id="fit" title="Show all of the map (0)">Fit</button>
        <button type="button" id="print" title="The map as SVG, to be printed">SVG</button>
      </div>
    </header>
    <p id="problem" role="alert" hidden></p>
    <main>
      <section id="map" aria-label="Map of applications">
        <div id="graph" aria-hidden="true"></div>
        <p id="empty" role="status">Reading the map …</p>
        ${legend(hasTraffic)}
      </section>
      <aside id="side" aria-label="Details">
        ${story && story.length > 0 && stories(story)}
        ${hasTraffic && html`<section id="seen" aria-live="polite" hidden></section>`}
        <section id="detail" tabindex="-1" aria-live="polite">
          <h2>Who can talk to whom?</h2>
          <p>Select an application to see all there is to know of it, and a second one to see whether the first may reach it, and why.</p>
        </section>
        ${planner}
        <section id="plan" aria-label="Plan" aria-live="polite" hidden></section>
      </aside>
      <section id="list" tabindex="-1" aria-labelledby="list-title">
        <h2 id="list-title">Applications and traffic</h2>
        <div class="scroll" tabindex="0" role="region" aria-label="Table of applications">
          <table>
            <thead><tr><th scope="col">Application</th><th scope="col">Where, and who may reach it</th><th scope="col">May reach</th></tr></thead>
            <tbody id="rows"></tbody>
          </table>
        </div>
      </section>
      <section id="timeline" aria-labelledby="timeline-title">
        <h2 id="timeline-title">Time line</h2>
        <p id="refused" class="muted" role="status" hidden></p>
        <ol id="steps" aria-live="polite" tabindex="0" aria-label="Steps, the latest first"></ol>
      </section>
    </main>
    <dialog id="token-dialog" aria-labelledby="token-title">
      <form method="dialog" id="token-form">
        <h2 id="token-title">A token is needed</h2>
        <p id="token-reason"></p>
        <p><code>kubectl create token ACCOUNT --audience ${audience}</code></p>
        <label>Token <input id="token" type="password" autocomplete="off" required /></label>
        <button class="primary">Look</button>
      </form>
    </dialog>
  </body>
</html>`

const traffic = html`<label>Traffic <select id="showing">
            <option value="declared">declared</option><option value="observed">observed</option><option value="difference">difference</option>
          </select></label>
        <label>of the last <select id="window">
            <option>5m</option><option selected>1h</option><option>24h</option><option>7d</option>
          </select></label>
        <span id="traffic-note" role="status"></span>`

const legend = (hasTraffic: boolean) => html`<ul id="legend" aria-label="Legend">
  <li><i class="mesh"></i>on the mesh</li>
  <li><i class="off"></i>off the mesh</li>
  <li><i class="untold"></i>no event yet</li>
  <li><i class="beacon"></i>beacon</li>
  <li><i class="open"></i>open to anybody</li>
  <li><i class="closed"></i>a namespace: select it to open it</li>
  <li><i class="attention"></i>needs a look</li>
  <li><i class="line allowed"></i>allowed</li>
  <li><i class="line none"></i>related, nothing passes</li>
  <li><i class="line telemetry"></i>telemetry</li>
  <li><i class="line lost"></i>would be lost</li>
  <li><i class="line member"></i>of a beacon</li>
  ${hasTraffic && html`<li><i class="line refusing"></i>refused</li><li><i class="line unrelated"></i>used without a relation</li>`}
</ul>`

/** The buttons are for the example alone: they stay hidden where the applications that they relate are not on the map. */
const stories = (
  story: readonly Story[],
) => html`<section id="story" aria-labelledby="story-title" data-needs="${relatedBy(story).join(' ')}" hidden>
  <h2 id="story-title">Try it</h2>
  <ol>
    ${story.map(
      ({ title, event, isPlanned }, index) => html`<li>
        <button type="button" data-story="${String(index)}" data-event="${JSON.stringify(event)}" data-planned="${String(isPlanned)}">${title}</button>
      </li>`,
    )}
  </ol>
</section>`

const relatedBy = (story: readonly Story[]): string[] => [
  ...new Set(story.filter(({ event }) => event.type === 'relation-changed').map(({ event }) => event.subject)),
]

const planner = html`<section id="planner" aria-labelledby="planner-title">
  <h2 id="planner-title">Plan a relation</h2>
  <form id="plan-form">
    <label>Do <select name="kind"><option value="relate">relate</option><option value="unrelate">end the relation of</option></select></label>
    <label>Application <input name="own" list="names" required autocomplete="off" spellcheck="false" placeholder="namespace/provider" /></label>
    <label>its endpoint <input name="endpoint" autocomplete="off" spellcheck="false" placeholder="of a beacon: none" /></label>
    <label>and <input name="remote" list="names" required autocomplete="off" spellcheck="false" placeholder="namespace/requirer" /></label>
    <button class="primary">Plan</button>
    <datalist id="names"></datalist>
  </form>
</section>`
