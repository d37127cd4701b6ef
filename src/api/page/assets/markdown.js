// SPDX-License-Identifier: Apache-2.0
// The Markdown that models write, as DOM nodes: paragraphs, headings, lists, quotes, fenced code,
// inline code, strong and emphasis. Text only ever becomes text nodes, so no answer can bring
// markup, and links and images stay as written, so none can cause a request.

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;

// The source cut into blocks {kind, lines, ...}. A block's lines never change once a later block
// has begun, which is what lets a growing answer be drawn block by block.
export function blocksOf(source) {
  const blocks = [];
  let open = null;  // the block that the next line may continue
  const begin = (block) => {
    blocks.push(block);
    return block;
  };
  for (const line of source.split('\n')) {
    if (open?.kind === 'code') {
      if (line.trim().startsWith(open.fence) && /^[`~]+$/.test(line.trim())) open = null;
      else open.lines.push(line);
      continue;
    }
    open = nextBlock(open, line, begin);
  }
  return blocks;
}

function nextBlock(open, line, begin) {
  if (line.trim() === '') return open?.kind === 'list' ? open : null;
  const fence = FENCE.exec(line);
  if (fence) return begin({ kind: 'code', lines: [], fence: fence[1], language: fence[2] });
  const heading = HEADING.exec(line);
  if (heading) {
    begin({ kind: 'heading', lines: [heading[2]], level: heading[1].length });
    return null;
  }
  if (RULE.test(line)) {
    begin({ kind: 'rule', lines: [] });
    return null;
  }
  const quote = QUOTE.exec(line);
  if (quote) {
    if (open?.kind === 'quote') open.lines.push(quote[1]);
    else open = begin({ kind: 'quote', lines: [quote[1]] });
    return open;
  }
  if (ITEM.test(line) || (open?.kind === 'list' && /^\s/.test(line))) {
    if (open?.kind === 'list') open.lines.push(line);
    else open = begin({ kind: 'list', lines: [line] });
    return open;
  }
  if (open?.kind === 'paragraph') open.lines.push(line);
  else open = begin({ kind: 'paragraph', lines: [line] });
  return open;
}

function element(name, ...children) {
  const node = document.createElement(name);
  node.append(...children);
  return node;
}

// Inline code first, then strong, then emphasis; what has no end stays as typed.
const INLINE = /(`+)(.+?)\1(?!`)|\*\*(?=\S)(.+?\S?)\*\*|__(?=\S)(.+?\S?)__(?!\w)|\*(?=[^\s*])(.+?)\*(?!\w)|(?<!\w)_(?=[^\s_])(.+?)_(?!\w)/su;

function appendInline(parent, text, depth = 0) {
  let rest = text;
  while (rest !== '') {
    const match = depth < 4 ? INLINE.exec(rest) : null;
    if (!match) break;
    parent.append(rest.slice(0, match.index));
    if (match[1]) {
      parent.append(element('code', match[2].trim() || match[2]));
    } else {
      const strong = match[3] ?? match[4];
      const node = document.createElement(strong === undefined ? 'em' : 'strong');
      appendInline(node, strong ?? match[5] ?? match[6], depth + 1);
      parent.append(node);
    }
    rest = rest.slice(match.index + match[0].length);
  }
  parent.append(rest);
  return parent;
}

// Nested by indentation; lines that are no items continue the item above.
function drawList(lines) {
  const root = document.createDocumentFragment();
  const stack = [];  // {indent, list, item}
  for (const line of lines) {
    const match = ITEM.exec(line);
    if (!match) {
      stack.at(-1).item.append('\n');
      appendInline(stack.at(-1).item, line.trim());
      continue;
    }
    const indent = match[1].length;
    const ordered = /^\d/.test(match[2]);
    while (stack.length > 0 && indent < stack.at(-1).indent) stack.pop();
    let top = stack.at(-1);
    if (top && indent < top.indent + 2 && top.ordered !== ordered) {
      stack.pop();
      top = undefined;
    }
    if (!top || indent >= top.indent + 2) {
      const list = document.createElement(ordered ? 'ol' : 'ul');
      if (ordered) list.start = parseInt(match[2], 10);
      (stack.at(-1)?.item ?? root).append(list);
      top = { indent, list, ordered, item: null };
      stack.push(top);
    }
    top.item = appendInline(document.createElement('li'), match[3]);
    top.list.append(top.item);
  }
  return element('div', root);
}

function drawCode(block, copyButton) {
  const head = element('div', element('span', block.language || 'text'));
  head.className = 'code-head';
  if (copyButton) head.append(copyButton(() => block.lines.join('\n')));
  const pre = element('pre', element('code', block.lines.join('\n')));
  pre.tabIndex = 0;  // scrolls sideways by keyboard
  const node = element('div', head, pre);
  node.className = 'code';
  return node;
}

function draw(block, copyButton) {
  switch (block.kind) {
    case 'code': return drawCode(block, copyButton);
    case 'heading':
      return appendInline(document.createElement(`h${Math.min(6, block.level + 2)}`), block.lines[0]);
    case 'rule': return document.createElement('hr');
    case 'quote':
      return element('blockquote', appendInline(document.createElement('p'), block.lines.join('\n')));
    case 'list': return drawList(block.lines);
    default: return appendInline(document.createElement('p'), block.lines.join('\n'));
  }
}

// Keeps `parent` showing a growing source: blocks that did not change keep their nodes, with the
// reader's selection and scroll positions in them.
export class MarkdownView {
  #parent;
  #copyButton;
  #drawn = [];

  constructor(parent, copyButton = null) {
    this.#parent = parent;
    this.#copyButton = copyButton;
  }

  show(source) {
    const blocks = blocksOf(source);
    blocks.forEach((block, i) => {
      const key = JSON.stringify(block);
      if (this.#drawn[i]?.key === key) return;
      const node = draw(block, this.#copyButton);
      if (this.#drawn[i]) this.#drawn[i].node.replaceWith(node);
      else this.#parent.append(node);
      this.#drawn[i] = { key, node };
    });
    for (const { node } of this.#drawn.splice(blocks.length)) node.remove();
  }
}
