import * as z from 'zod'
import type { Databag } from '../../state/relation.ts'
import { type DatabagValue, readValue } from './databag.ts'

/** The interface by which a provider tells a requirer what to scrape, and the entry of its databag. */
export const SCRAPE = 'prometheus_scrape'
export const SCRAPE_JOBS = 'scrape_jobs'

const Job = z.object({
  scheme: z.string().optional(),
  static_configs: z.array(z.object({ targets: z.array(z.string()).optional() })).optional(),
})

/** Reads what a provider says is to be scraped. */
export const readScrapeJobs = (databag: Databag): DatabagValue<z.infer<typeof Job>[]> =>
  readValue(databag, SCRAPE_JOBS, z.array(Job))
