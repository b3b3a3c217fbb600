import { expect, it } from '@jest/globals';
import { RetryBudget } from './retry-budget.js';

/** Empties a budget. */
function empty(budget: RetryBudget): void {
  while (budget.withdraw(false));
}

it('a call that tried an ejected target is retried even if the budget is empty', () => {
  const budget = new RetryBudget(0.2);
  empty(budget);
  expect(budget.withdraw(false)).toBe(false);
  expect(budget.withdraw(true)).toBe(true);
  for (let requests = 0; requests < 4; requests++) budget.deposit();
  expect(budget.isEmpty).toBe(true);
  budget.deposit();
  expect(budget.withdraw(false)).toBe(true);
});

it('with a budget of zero, not even such a call is retried', () => {
  expect(new RetryBudget(0).withdraw(true)).toBe(false);
});
