import { expect, test } from "vitest";
import { add, biggest } from "./calc";

test("adds", () => {
  expect(add(2, 3)).toBe(5);
});

test("finds the biggest", () => {
  expect(biggest([1, 5, 3])).toBe(5);
});
