import { Refused } from '../../platform/base/errors.ts'
import type { Sender } from './authenticate.ts'

/** Tells if a sender may look at an application. Everybody may if senders are not authenticated. */
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

/** Selects the items whose applications a sender may look at. These are checked one after another, so that many need no more than one check at a time. */
export const visibleTo = async <T>(
  sender: Sender | undefined,
  items: readonly T[],
  whoseIs: (item: T) => Seen,
): Promise<T[]> => {
  const visible: T[] = []
  for (const item of items) if (await maySee(sender, whoseIs(item))) visible.push(item)
  return visible
}
