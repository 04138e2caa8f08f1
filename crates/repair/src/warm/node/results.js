// Selects the tests of one pass, and collects their results.
'use strict';

const path = require('node:path');
const loader = require('./loader.js');
const { point } = require('./progress.js');

/// A name as in a report: on one line, and of limited length.
function plain(name) {
  return name.replace(/\s+/g, ' ').trim().slice(0, 900);
}

/// One pass over some tests.
function begin({ names = null, skips = null, stops = false, tolerated = new Set(), watch = null, guarded = 0 }) {
  const wanted = names === null || [...names].some((name) => / hook(?: |$)/.test(name)) ? null : [...names];
  return {
    results: new Map(),
    /// Where each failing test failed, as far as that is known.
    points: new Map(),
    where: new Map(),
    file: null,
    stopped: false,
    /// Tests that started other programs, and whether the current test did.
    starting: new Set(),
    isStarting: false,
    hasStarted: false,
    /// Whether a test was left out.
    skipped: false,
    isGuarded: guarded > 0,
    wants(name) {
      if (wanted === null && skips === null) return true;
      const short = plain(name);
      if (skips?.has(short)) {
        this.skipped = true;
        return false;
      }
      if (wanted === null) return true;
      return names.has(short) || wanted.some((one) => one.startsWith(`${short} > `) || short.startsWith(`${one} > `));
    },
    begin(name) {
      watch?.begin(plain(name));
    },
    /// The test neither passes nor fails.
    leave(name) {
      watch?.leave?.(plain(name));
    },
    exit() {
      watch?.exit?.();
    },
    /// The test passed, or failed with an error.
    end(name, ok, error = null) {
      const short = plain(name.startsWith('/') ? path.relative(loader.state.root, name) : name);
      watch?.end(short, ok);
      this.results.set(short, ok && this.results.get(short) !== false);
      if (!ok && error !== null) this.points.set(short, point(error, this.file));
      if (this.isStarting) this.starting.add(short);
      this.isStarting = false;
      if (!ok && stops && !tolerated.has(short)) this.stopped = true;
    },
  };
}

module.exports = { begin, plain };
