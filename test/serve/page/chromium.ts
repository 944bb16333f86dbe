import { spawnSync } from 'node:child_process'

/** Chromium on this machine, as Debian has it; undefined where there is none. */
export const chromiumProgram: string | undefined = ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) => {
  const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' })
  return status === 0 ? [stdout.trim()] : []
})[0]
