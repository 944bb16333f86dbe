import { renderMermaidSVG } from 'beautiful-mermaid'

const COLOURS = `
  svg { --bg: #fff; --fg: #24292f; --muted: #57606a; --line: #6e7781; --border: #6e7781 }
  @media (prefers-color-scheme: dark) {
    svg { --bg: #15181c; --fg: #e2e5e9; --muted: #a1a8b1; --line: #8c959f; --border: #8c959f }
  }`

/** Draws a Mermaid diagram as an image that asks no other host for anything, light or dark as the reader has it. */
export const draw = (text: string): string =>
  renderMermaidSVG(text)
    .replace(/ style="[^"]*"/, '')
    .replace(/@import url\([^)]*\);/, COLOURS)
