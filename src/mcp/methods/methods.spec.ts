import { describe, expect, it } from '@jest/globals';
import { MCP_METHODS } from '../../platform/metrics/mcp-metrics.js';
import { SERVED_METHODS } from './methods.js';

describe('methods of the MCP server', () => {
  it('each have a metric series, and no other method has one', () => {
    const counted = MCP_METHODS.filter((name) => name !== 'notification' && name !== 'other');
    expect([...SERVED_METHODS.byName.keys()].toSorted()).toEqual(counted.toSorted());
  });
});
