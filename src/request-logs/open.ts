/**
 * Creates the recorder and the flush of the request log. Rows are written to the database after each flush of usage.
 */
import { publicPaths } from '../config/model/apis.js';
import type { SharedDependencies } from '../config/shared-dependencies.js';
import { RequestLogRecorder } from './recorder.js';
import { RequestLogFlush } from './request-log-flush.js';
import { RequestLogWriter } from './request-log-writer.js';

/** RequestLogging records ended requests in memory (`recorder`), and writes them to the database (`flush`). */
export interface RequestLogging {
  readonly recorder: RequestLogRecorder;
  readonly flush: RequestLogFlush;
}

/**
 * Creates recorder and flush. Recording follows `usage.requestLogRetention`, also when the value changes. 0 turns
 * recording off.
 */
export function openRequestLogs({ config, database, log, gauges }: SharedDependencies): RequestLogging {
  const { file } = config.current;
  const recorder = new RequestLogRecorder(publicPaths(file), file.usage.requestLogRetention > 0);
  const flush = new RequestLogFlush(recorder, new RequestLogWriter(database.db, database.kind), log.logger);
  gauges.push(flush);
  config.onChange(({ config: next }) => () => {
    recorder.isOn = next.file.usage.requestLogRetention > 0;
  });
  return { recorder, flush };
}
