/** Keeps the MCP tools in step with the running configuration. */
import type { RunningConfig } from './running-config.js';
import { makeToolSet } from './tools/calling/tool-set.js';
import type { ToolSet } from './tools/tool.js';

/** RunningTools holds the MCP tools of the running configuration, and replaces them when the configuration changes. */
export class RunningTools {
  private tools: ToolSet;

  constructor(config: RunningConfig) {
    const { tools = [], operations } = config.current;
    this.tools = makeToolSet(tools, operations);
    config.onChange(({ config: next }) => {
      const changed = makeToolSet(next.tools ?? [], next.operations);
      return () => void (this.tools = changed);
    });
  }

  get current(): ToolSet {
    return this.tools;
  }
}
