/** @typedef {string | Node | false | undefined} Child */

/**
 * Makes an element. Text children are not parsed as HTML.
 * @param {string} tag
 * @param {Record<string, string | boolean>} attributes
 * @param {Child[]} children
 */
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, '')
    else if (value !== false) made.setAttribute(name, value)
  }
  made.append(...children.filter((child) => child !== undefined && child !== false))
  return made
}

/**
 * Finds the element with an id.
 * @param {string} id
 */
export const byId = (id) => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`there is no #${id}`)
  return found
}
