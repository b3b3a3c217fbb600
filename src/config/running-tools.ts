/** The tools of the running configuration. */
import type { ToolSet } from './tool.js';

/** Tools that follow the configuration: whoever asks gets those in force. */
export interface RunningTools {
  readonly current: ToolSet;
}
