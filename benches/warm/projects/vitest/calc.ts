export function add(a: number, b: number): number {
  return a + b;
}

export function biggest(values: number[]): number {
  let best = values[0];
  for (const value of values) {
    if (value > best) {
      best = value;
    }
  }
  return best;
}
