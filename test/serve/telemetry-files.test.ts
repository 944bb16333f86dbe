import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const RULES = 'examples/telemetry/alerts.yaml'
const DASHBOARD = 'examples/telemetry/dashboard.json'
const SENT = readFileSync('src/serve/telemetry/watch.ts', 'utf8')

/** The names that an OTLP receiver gives the metrics: https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/ */
const metrics = new Set(
  [...SENT.matchAll(/(duration|createCounter)\('(meshstep\.[\w.]+)'/g)].flatMap(([, kind, name = '']) => {
    const own = name.replaceAll('.', '_')
    return kind === 'duration' ? ['bucket', 'count', 'sum'].map((part) => `${own}_seconds_${part}`) : [`${own}_total`]
  }),
)
const labels = new Set(
  [...SENT.matchAll(/'([a-z]+\.[a-z._]+)'/g)].map(([, name = '']) => name.replaceAll('.', '_')).concat('le'),
)

const expressions = [
  ...parse(readFileSync(RULES, 'utf8')).groups.flatMap((group: { rules: { expr: string }[] }) => group.rules),
  ...JSON.parse(readFileSync(DASHBOARD, 'utf8')).panels.flatMap((panel: { targets: object[] }) => panel.targets),
].map(({ expr }: { expr: string }) => expr)

describe('the dashboard and the alerts', () => {
  test('they name the metrics and the attributes that are sent, and no others', () => {
    const named = expressions.flatMap(
      (expr) => expr.match(/meshstep_\w+(?=[[{)])|meshstep_\w+_(?:count|bucket|total)/g) ?? [],
    )
    expect(named.length).toBeGreaterThan(15)
    expect([...new Set(named)].filter((name) => !metrics.has(name) && !labels.has(name))).toEqual([])
    const grouped = expressions.flatMap((expr) => [
      ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', ')),
      ...[...expr.matchAll(/\{(\w+)[!=]/g)].map(([, label = '']) => label),
    ])
    expect([...new Set(grouped)].filter((label) => !labels.has(label))).toEqual([])
  })

  test.skipIf(!existsSync('/usr/bin/promtool'))(
    'Prometheus takes the rules, and they fire (skipped without promtool)',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'meshstep-rules-'))
      const series = (name: string, values: string) => ({ series: name, values })
      const alerts = (eval_time: string, alertname: string, ...exp_alerts: object[]) => ({
        eval_time,
        alertname,
        exp_alerts,
      })
      const tests = [
        {
          interval: '1m',
          input_series: [
            series('meshstep_event_duration_seconds_count{meshstep_status="changed"}', '0+10x180'),
            series('meshstep_event_duration_seconds_count{error_type="Unavailable"}', '0+6x180'),
            // a process that lives for one event
            series('meshstep_event_duration_seconds_count{meshstep_status="saved",pod="a"}', '1x2'),
          ],
          alert_rule_test: [
            {
              ...alerts('1h', 'MeshstepEventsFail'),
              exp_alerts: [{ exp_labels: { severity: 'warning', error_type: 'Unavailable' } }],
            },
            alerts('1h', 'MeshstepResyncMissing'),
          ],
        },
        {
          interval: '1m',
          input_series: [series('other', '1x180')],
          alert_rule_test: [
            { ...alerts('2h', 'MeshstepResyncMissing'), exp_alerts: [{ exp_labels: { severity: 'critical' } }] },
          ],
        },
      ]
      const rules = parse(readFileSync(RULES, 'utf8'))
      // annotations would have to be repeated
      for (const { rules: own } of rules.groups) for (const rule of own) rule.annotations = {}
      await writeFile(join(folder, 'rules.yaml'), JSON.stringify(rules))
      await writeFile(
        join(folder, 'tests.yaml'),
        JSON.stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }),
      )
      expect(execFileSync('promtool', ['check', 'rules', resolve(RULES)], { encoding: 'utf8' })).toContain('SUCCESS')
      expect(execFileSync('promtool', ['test', 'rules', 'tests.yaml'], { cwd: folder, encoding: 'utf8' })).toContain(
        'SUCCESS',
      )
    },
  )
})
