// Draws a conversation as GitHub does: Markdown by `marked`, and around it what GitHub draws itself. The page around
// this script sets `entries`.
'use strict';

const { marked, entries } = globalThis;

const element = (tag, className, ...children) => {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
};

const row = (kind, number, text) =>
  element('tr', kind, element('td', 'number', `${number ?? ''}`), element('td', '', text));

// The lines that a suggestion replaces and those that it adds.
const suggestion = (text, replaced) => {
  const table = element('table', 'lines');
  replaced.forEach(({ line, text }) => {
    table.append(row('removed', line, `-${text}`));
  });
  text.split('\n').forEach((added, at) => {
    table.append(row('added', replaced[0].line + at, `+${added}`));
  });
  return element('div', 'suggestion', element('div', '', 'Suggested change'), table);
};

const markdown = (body, replaced) => {
  const made = element('div', 'markdown-body');
  made.innerHTML = marked.parse(body, { gfm: true });
  for (const code of made.querySelectorAll('code.language-suggestion')) {
    code.parentElement.replaceWith(suggestion(code.textContent.replace(/\n$/, ''), replaced));
  }
  return made;
};

const heading = (who, does) => {
  const [name, bot] = who.split('[');
  const made = element('header', '', element('b', '', name));
  if (bot) made.append(element('span', 'bot', 'bot'));
  made.append(` ${does}`);
  return made;
};

const thread = (comment) => {
  const lines = element('table', 'lines');
  for (const line of comment.hunk) {
    const kind = { '+': 'added', '-': 'removed' }[line.text[0]] ?? '';
    lines.append(row(kind, line.number, line.text));
  }
  return element(
    'div',
    'thread',
    element('div', 'file', comment.path),
    lines,
    markdown(comment.body, comment.replaced),
  );
};

for (const entry of entries) {
  const article = element('article', '', heading(entry.who, entry.does));
  if (entry.body) article.append(markdown(entry.body, []));
  if (entry.reactions.length > 0) {
    article.append(element('div', 'reactions', element('span', '', entry.reactions.join(' '))));
  }
  document.querySelector('main').append(article, ...entry.comments.map(thread));
}
