// Loads the page again when the server says that something has changed. Every page works without it.
const live = document.getElementById('live');
const events = document.body.dataset.events;
const openDetails = () => new Set([...document.querySelectorAll('details[open]')].map((one) => one.dataset.key));

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
  document.getElementById('main').replaceWith(main);
  document.title = next.title;
  for (const details of document.querySelectorAll('details')) {
    details.open ||= open.has(details.dataset.key);
  }
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
