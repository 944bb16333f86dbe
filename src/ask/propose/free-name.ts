/** Returns the first of `name`, `name-2`, `name-3` and so on that is not taken. */
export const freeName = (name: string, isTaken: (name: string) => boolean): string => {
  let free = name
  for (let number = 2; isTaken(free); number += 1) free = `${name}-${number}`
  return free
}
