// Tells which test files can be affected by an edit: those that entered the innermost function around it. If this is
// not certain, all of them count.
'use strict';

const fs = require('node:fs');
const { fileURLToPath } = require('node:url');
const { textOf } = require('./coverage.js');
const loader = require('./loader.js');

/// Maximum number of functions, and of entries into functions, in all files.
const MOST_FUNCTIONS = 100_000;
const MOST_ENTERED = 1_000_000;
/// What may precede the parameters of a function, and a function with a single bare parameter.
const HEAD = /^(?!class\b)(?:[\s*\w$#]|\[[^\]]*\])*\(/;
const LONELY = /^(?:async\s+)?[\w$]+\s*=>/;
const CLOSING = { ')': '(', ']': '[', '}': '{' };

/// Records which functions each test file enters, while it is loaded and in its tests.
function recorder({ passed, only }) {
  const ids = new Map();
  const extents = new Map();
  const entered = new Map();
  const closed = new Set();
  const good = new Set(passed);
  let present = new Set();
  let left = MOST_ENTERED;
  let isUsable = only === null;

  function idOf(file, start, end) {
    const key = `${start}-${end} ${file}`;
    let id = ids.get(key);
    if (id === undefined && ids.size < MOST_FUNCTIONS) {
      id = ids.size;
      ids.set(key, id);
      const known = extents.get(file) ?? [];
      extents.set(file, known);
      known.push([start, end, id]);
    }
    return id;
  }

  function noteFile(file, functions) {
    const { raw, shift } = textOf(file);
    if (raw === null) return;
    for (const {
      ranges: [{ startOffset, endOffset, count }],
    } of functions) {
      const [start, end] = [startOffset - shift, endOffset - shift];
      // A whole module is not a function.
      if (start < 0 || end > raw.length || (start === 0 && end === raw.length)) continue;
      const id = idOf(file, start, end);
      if (id === undefined) isUsable = false;
      else if (count > 0) present.add(id);
    }
  }

  return {
    /// Records what was executed since the last call.
    note(scripts) {
      for (const { url, functions } of scripts) {
        const file = url.startsWith('file:') ? fileURLToPath(url) : url;
        if (loader.isOwn(file)) noteFile(file, functions);
      }
    },
    /// Ends the recording of one test file; what follows belongs to another one.
    close(file, { results, hasStarted }) {
      // A test that fails without the tests of other files would give wrong results if it ran alone.
      if ([...results].some(([name, ok]) => !ok && good.has(name))) isUsable = false;
      closed.add(file);
      left -= present.size;
      if (left >= 0 && !hasStarted && !results.has('<run>') && !results.has('<exit>')) {
        entered.set(file, { names: [...results.keys()], functions: Uint32Array.from(present) });
      }
      present = new Set();
    },
    has: (file) => closed.has(file),
    found: () => (isUsable ? { extents, entered } : null),
  };
}

/// Where the body of a function begins in its text, and whether it is in braces. Null if that is unclear.
function insideOf(text) {
  const lonely = LONELY.exec(text);
  let at = lonely?.[0].length ?? HEAD.exec(text)?.[0].length;
  if (at === undefined) return null;
  if (!lonely) {
    for (let depth = 1; depth > 0 && at < text.length; at += 1) depth += { '(': 1, ')': -1 }[text[at]] ?? 0;
    const arrow = /^\s*=>/.exec(text.slice(at));
    if (!arrow && !/^\s*\{/.test(text.slice(at))) return null;
    at += arrow?.[0].length ?? 0;
  }
  const brace = /^\s*\{/.exec(text.slice(at));
  return { at: at + (brace?.[0].length ?? 0), isBlock: brace !== null };
}

/// Whether a replacement leaves the structure of the code around it unchanged.
function isClosed(text, isBlock) {
  if (text.includes('`') || text.includes('/*') || (!isBlock && /[,;\n]/.test(text))) return false;
  const open = [];
  for (const one of text) {
    if ('([{'.includes(one)) open.push(one);
    else if (one in CLOSING && open.pop() !== CLOSING[one]) return false;
  }
  return open.length === 0;
}

/// The innermost function of which an edit changes only the body.
function around({ extents }, { file, range: [start, end], put }) {
  let inner = null;
  for (const one of extents.get(file) ?? []) {
    if (one[0] <= start && end <= one[1] && (inner === null || one[1] - one[0] < inner[1] - inner[0])) inner = one;
  }
  if (inner === null) return null;
  const whole = fs.readFileSync(file, 'utf8');
  // Offsets here count a byte order mark at the beginning, those of functions do not.
  if (whole.startsWith('\uFEFF')) return null;
  const inside = insideOf(whole.slice(inner[0], inner[1]));
  const isWithin = inside !== null && start >= inner[0] + inside.at && end < inner[1];
  return isWithin && [whole.slice(start, end), put].every((text) => isClosed(text, inside.isBlock)) ? inner[2] : null;
}

/// The files that may be affected by an edit, and the tests in them that should pass.
function those({ sees, passed, starting }, files, edit) {
  const id = sees === null || starting.size > 0 ? null : around(sees, edit);
  if (id === null) return { seeing: files, expected: passed };
  const isSeeing = (file) => !sees.entered.has(file) || sees.entered.get(file).functions.includes(id);
  const seeing = files.filter(isSeeing);
  const without = new Set(files.filter((file) => !isSeeing(file)).flatMap((file) => sees.entered.get(file).names));
  for (const file of seeing) for (const name of sees.entered.get(file)?.names ?? []) without.delete(name);
  return { seeing, expected: passed.filter((name) => !without.has(name)) };
}

module.exports = { recorder, those };
