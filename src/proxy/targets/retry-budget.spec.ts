import { expect, it } from '@jest/globals';
import { RetryBudget } from './retry-budget.js';

/** Empties a budget. */
function empty(budget: RetryBudget): void {
  while (budget.withdraw(false));
}

it('a call that tried an ejected target is sent again also when the budget is used up', () => {
  const budget = new RetryBudget(0.2);
  empty(budget);
  expect(budget.withdraw(false)).toBe(false);
  expect(budget.withdraw(true)).toBe(true);
  for (let requests = 0; requests < 4; requests++) budget.deposit();
  expect(budget.isEmpty).toBe(true);
  budget.deposit();
  expect(budget.withdraw(false)).toBe(true);
});

it('where there are no retries, there is none for such a call either', () => {
  expect(new RetryBudget(0).withdraw(true)).toBe(false);
});
