import { type Command, Option } from 'commander'
import { type PrometheusOptions, withPrometheus } from './ask-traffic.ts'
import type { FailOn } from './plan.ts'

/** The options that `withDryRun` adds. */
export type DryRunOptions = PrometheusOptions & { readonly dryRun?: true; readonly failOn: FailOn }

/** Adds the options for the effect of an event before it is sent. */
export const withDryRun = (command: Command): Command =>
  withPrometheus(
    command
      .option(
        '--dry-run',
        'print the effect without sending anything; exit code 2 if access would be lost, 3 if that is not known',
      )
      .addOption(failOn('with --dry-run: when to exit with 2')),
  )

/** The option for the effects on access that end a command with 2. */
export const failOn = (meaning: string): Option =>
  new Option('--fail-on <what>', meaning).choices(['lose', 'used', 'widen', 'none']).default('lose')
