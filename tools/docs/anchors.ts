/** The anchors of headings, in their order, as GitHub makes them: of equal ones the later have a number. */
export const anchorsOf = (headings: readonly string[]): string[] => {
  const seen = new Map<string, number>()
  return headings.map((heading) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(anchor) ?? 0
    seen.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}
