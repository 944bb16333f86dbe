import { Refused } from '../../platform/base/errors.ts'
import type { Sender } from './authenticate.ts'

/** Tells if a sender may look at an application. Everybody may where senders are not authenticated. */
export const maySee = async (sender: Sender | undefined, { namespace, application }: Seen): Promise<boolean> => {
  try {
    await sender?.authorize({ namespace, application })
    return true
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}

type Seen = { readonly namespace: string; readonly application?: string | undefined }

/** Selects what is of applications that a sender may look at. They are asked about in turn: many are no more than one at a time. */
export const visibleTo = async <T>(
  sender: Sender | undefined,
  items: readonly T[],
  whoseIs: (item: T) => Seen,
): Promise<T[]> => {
  const visible: T[] = []
  for (const item of items) if (await maySee(sender, whoseIs(item))) visible.push(item)
  return visible
}
