// How far a failing test got: the later it fails, or the closer its value is, the more of the code is right.
'use strict';

const loader = require('./loader.js');

/// A frame of a stack: the function, the file and the line.
const FRAME = /^ {4}at (?:async )?(?:([^\s()]+) [^()]*\()?(?:file:\/\/)?(\/[^\s():]+):(\d+):\d+\)?$/;
const MOST_FRAMES = 40;
const LONGEST_FRAME = 500;
/// Values with more elements are not compared.
const MOST_ELEMENTS = 10_000;

/// The frames of the project, the innermost first.
function frames(error) {
  const { stack } = error;
  if (typeof stack !== 'string') return [];
  const found = [];
  for (const line of stack
    .slice(0, MOST_FRAMES * LONGEST_FRAME)
    .split('\n')
    .slice(0, MOST_FRAMES)) {
    const [, name = '', file, row] = (line.length < LONGEST_FRAME && FRAME.exec(line)) || [];
    if (file?.startsWith(`${loader.state.root}/`) && !file.includes('/node_modules/'))
      found.push({ name, file, row: Number(row) });
  }
  return found;
}

/// How far two values are from each other. Null if that has no meaning.
function distance(one, other) {
  if (typeof one === 'number' && typeof other === 'number') return Math.abs(one - other);
  const isText = typeof one === 'string' && typeof other === 'string';
  if (!isText && !(Array.isArray(one) && Array.isArray(other))) return null;
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (long.length > MOST_ELEMENTS) return null;
  let differing = long.length - short.length;
  for (let at = 0; at < short.length; at += 1) if (short[at] !== long[at]) differing += 1;
  return differing;
}

/// Where a test of this file failed: its line, and either how far the value was off, or where the code under test raised
/// the error. Null if unknown.
function point(error, test) {
  try {
    return found(error, test);
  } catch {
    // The error's properties may be the project's.
    return null;
  }
}

function found(error, test) {
  const all = frames(error);
  const own = all.findLast(({ file }) => file === test);
  if (own === undefined) return null;
  if (all[0].file !== test) return { row: own.row, returned: false, inner: all[0], off: null };
  const { actual, expected } = error.matcherResult ?? error;
  return { row: own.row, returned: true, inner: null, off: distance(actual, expected) };
}

/// Whether a test failed later than before, where the edit adds lines.
function isLater(now, before, added) {
  if (now.row !== before.row) return now.row > before.row;
  if (now.returned !== before.returned) return now.returned;
  if (now.returned) return now.off !== null && before.off !== null && now.off < before.off;
  const isSame = now.inner.file === before.inner.file && now.inner.name === before.inner.name;
  return isSame && now.inner.row > before.inner.row + Math.max(0, added);
}

function isEarlier(now, before) {
  return now.row < before.row || (now.row === before.row && before.returned && !now.returned);
}

module.exports = {
  point,
  /// Whether one of the failing tests got further than before, and none less far. Both are points by test.
  isFurther(now, before, added) {
    const both = [...now].map(([name, own]) => [own, before.get(name)]).filter(([own, old]) => own && old);
    return both.some(([own, old]) => isLater(own, old, added)) && !both.some(([own, old]) => isEarlier(own, old));
  },
};
