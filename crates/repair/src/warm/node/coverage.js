// Measures which lines the tests execute, with V8's own counters.
'use strict';

const fs = require('node:fs');
const { Session } = require('node:inspector');
const { fileURLToPath } = require('node:url');
const loader = require('./loader.js');

/// Maximum number of lines in one answer, over all files.
const MOST_LINES = 100_000;

function start(failing, goesOn) {
  const session = new Session();
  session.connect();
  const ask = (method, params) => {
    let answer = null;
    session.post(method, params, (_, said) => {
      answer = said;
    });
    return answer;
  };
  ask('Profiler.enable');
  ask('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const take = (note) => {
    const scripts = ask('Profiler.takePreciseCoverage')?.result ?? [];
    note?.(scripts);
    return scripts;
  };
  const hits = new Map();
  const seen = new Set();

  function count(executed, fails) {
    for (const [file, marked] of executed) {
      const known = hits.get(file) ?? new Map();
      hits.set(file, known);
      for (const line of marked) {
        const sums = known.get(line) ?? [0, 0];
        sums[fails ? 0 : 1] += 1;
        known.set(line, sums);
      }
    }
  }

  return {
    /// Traces the tests of one file. Code that runs while the file is loaded belongs to no test.
    of: (note) => ({
      begin() {
        take(note);
      },
      end(name, ok) {
        // If a test exits the process, its result is not known yet.
        if (name === '<exit>') return;
        const scripts = take(note);
        const fails = failing.has(name) && !ok;
        if (fails && seen.has(name)) return;
        if (fails) seen.add(name);
        if (fails || (ok && goesOn())) count(lines(scripts), fails);
      },
    }),
    take,
    /// Records what a failing test executed that did not end.
    cut(name) {
      const scripts = take();
      if (seen.has(name)) return;
      seen.add(name);
      count(lines(scripts), true);
    },
    found() {
      const files = {};
      let left = MOST_LINES;
      for (const [file, known] of hits) {
        const rows = [...known].filter(([, [fails]]) => fails > 0).map(([line, sums]) => [line, ...sums]);
        left -= rows.length;
        if (rows.length > 0 && left > 0)
          files[file.slice(loader.state.root.length + 1)] = rows.sort((a, b) => a[0] - b[0]);
      }
      return { failing: seen.size, files };
    },
  };
}

const texts = new Map();

function textOf(file) {
  let text = texts.get(file);
  if (text === undefined) {
    const raw = fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
    const known = loader.state.compiled.get(file);
    // A file compiled from another source has different line numbers.
    const isSame = known === undefined || known.source === raw;
    // The wrapper before the code replaces a `#!` line.
    const shift = known?.shift ? known.shift - (/^#!.*/.exec(raw)?.[0].length ?? 0) : 0;
    text = { raw: isSame ? raw : null, shift };
    texts.set(file, text);
  }
  return text;
}

/// The executed lines of each file of the project, from 1.
function lines(scripts) {
  const executed = new Map();
  for (const { url, functions } of scripts) {
    const file = url.startsWith('file:') ? fileURLToPath(url) : url;
    if (!loader.isOwn(file) || !functions.some((one) => one.ranges[0].count > 0)) continue;
    const { raw, shift } = textOf(file);
    if (raw === null) continue;
    const marks = new Uint8Array(raw.length);
    for (const one of functions) {
      for (const range of one.ranges) {
        marks.fill(
          range.count > 0 ? 1 : 0,
          Math.max(0, range.startOffset - shift),
          Math.max(0, range.endOffset - shift),
        );
      }
    }
    const marked = executed.get(file) ?? new Set();
    let line = 1;
    for (let at = 0; at < raw.length; at += 1) {
      const code = raw.charCodeAt(at);
      if (code === 10) line += 1;
      else if (marks[at] === 1 && code > 32 && code !== 123 && code !== 125) marked.add(line);
    }
    executed.set(file, marked);
  }
  return executed;
}

module.exports = { start, textOf };
