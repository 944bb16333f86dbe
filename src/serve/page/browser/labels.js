/** The elements whose texts are scaled. */
export const SCALED = '.app, .closed, .title, .heading, edge.labelled, edge.told'

/** The font size on the screen below which two lines cannot be read, in pixels. */
const LEAST = 7.8
const LEAST_NAMED = 10
/** The font size on the screen of what is named at any zoom. */
const NAMED = 12

const FONT = 12.5
/** The width of a character in its font size, at most. */
const CHARACTER = 0.6

/**
 * Returns the text of an element at a zoom, and its font size. A name fills its box if there is no room for two lines. What is selected, found or near has a
 * name that can be read at any zoom.
 * @param {cytoscape.SingularElementArgument} one @param {number} zoom
 * @returns {{ readonly text: string, readonly font: number, readonly ground: number }} `ground` is the opacity of the background.
 */
export const labelOf = (one, zoom) => {
  if (one.isEdge()) return { text: one.data('label'), font: rounded(Math.max(11, 10 / zoom)), ground: 1 }
  if (one.hasClass('title'))
    return { text: `▾ ${one.data('name')}`, font: rounded(Math.min(60, Math.max(14, NAMED / zoom))), ground: 0.8 }
  if (one.hasClass('heading')) return { text: one.data('name'), font: 12, ground: 0 }
  const { title, caption, isNameOnly, width, height } = one.data()
  const isNamed = ['chosen', 'near', 'found', 'hovered'].some((name) => one.hasClass(name))
  if (!isNameOnly && FONT * zoom >= (isNamed ? LEAST_NAMED : LEAST))
    return { text: `${title}\n${caption}`, font: FONT, ground: 0 }
  const fitting = Math.min(Math.max(FONT, 11 / zoom), (width - 8) / (CHARACTER * title.length), height * 0.64)
  const larger = isNamed ? Math.max(fitting, NAMED / zoom) : fitting
  const isWider = larger * CHARACTER * title.length > width
  return { text: title, font: rounded(larger), ground: isWider ? 0.85 : 0 }
}

/** Steps of a half, so that few texts change with each zoom. @param {number} font */
const rounded = (font) => Math.round(font * 2) / 2
