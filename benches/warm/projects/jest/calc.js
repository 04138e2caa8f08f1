function add(a, b) {
  return a + b;
}

function biggest(values) {
  let best = values[0];
  for (const value of values) {
    if (value > best) {
      best = value;
    }
  }
  return best;
}

module.exports = { add, biggest };
