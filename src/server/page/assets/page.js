// Loads the page again when the server says that something has changed. Every page works without it.
const live = document.getElementById('live');
const events = document.body.dataset.events;
const openDetails = () => new Set([...document.querySelectorAll('details[open]')].map((one) => one.dataset.key));

// Identifies an element across two versions of the page.
const nameOf = (element) =>
  [
    element.id,
    element.getAttribute('href'),
    element.getAttribute('aria-label'),
    element.closest('form')?.getAttribute('action'),
    element.closest('details')?.dataset.key,
    element.matches('a, button, summary') && element.textContent,
  ].join('\n');
const sameIn = (main, tag, name) => [...main.querySelectorAll(tag)].filter((element) => nameOf(element) === name);

// Returns a function that moves the keyboard focus to the same element of another version of the page.
function focusIn(main) {
  const focused = document.activeElement;
  if (!focused?.closest('#main') || focused.id === 'main') {
    return () => undefined;
  }
  const [tag, name] = [focused.tagName, nameOf(focused)];
  const nth = sameIn(document.getElementById('main'), tag, name).indexOf(focused);
  return () => sameIn(main, tag, name)[nth]?.focus({ preventScroll: true });
}

async function reload() {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!response.ok) {
    live.textContent = 'This page can no longer be loaded.';
    return;
  }
  // Parsed, never executed: the policy of the page allows no scripts but this file.
  const next = new DOMParser().parseFromString(await response.text(), 'text/html');
  const main = next.getElementById('main');
  const isWritten = [...document.querySelectorAll('textarea')].some((area) => area.value !== '');
  if (!main || isWritten || document.activeElement?.matches('input, select, textarea')) {
    live.textContent = 'There is something new: reload the page.';
    return;
  }
  const open = openDetails();
  const scrolled = window.scrollY;
  const focus = focusIn(main);
  document.getElementById('main').replaceWith(main);
  document.title = next.title;
  for (const details of document.querySelectorAll('details')) {
    details.open ||= open.has(details.dataset.key);
  }
  focus();
  window.scrollTo({ top: scrolled, behavior: 'instant' });
  live.textContent = `Updated at ${new Date().toLocaleTimeString()}`;
}

if (events && 'EventSource' in window) {
  live.textContent = 'Connecting';
  const source = new EventSource(events);
  source.addEventListener('changed', reload);
  // The browser connects again automatically, unless the server refuses: then a session or a one-time link has ended.
  let wasAway = false;
  source.addEventListener('error', () => {
    wasAway = true;
    live.textContent =
      source.readyState === EventSource.CLOSED
        ? 'Not connected: reload the page.'
        : 'Not connected: greenlight is away.';
  });
  source.addEventListener('open', () => {
    live.textContent = 'Live';
    if (wasAway) {
      wasAway = false;
      reload();
    }
  });
}

// Counts the seconds of what is under way.
setInterval(() => {
  for (const one of document.querySelectorAll('[data-elapsed]')) {
    const seconds = Number(one.dataset.elapsed) + 1;
    one.dataset.elapsed = seconds;
    const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
    one.textContent = minutes ? `${minutes} min${rest ? ` ${rest} s` : ''}` : `${rest} s`;
  }
}, 1000);
