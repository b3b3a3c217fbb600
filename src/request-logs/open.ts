/** Opens the recording of request logs: written behind each flush of usage. */
import { publicPaths } from '../config/model/apis.js';
import type { Ground } from '../config/ground.js';
import { RequestLogRecorder } from './recorder.js';
import { RequestLogFlush } from './request-log-flush.js';
import { RequestLogWriter } from './request-log-writer.js';

/** RequestLogging takes what the request path records, and writes it to the database. */
export interface RequestLogging {
  readonly recorder: RequestLogRecorder;
  readonly flush: RequestLogFlush;
}

/** Opens it. It follows `usage.requestLogRetention`: 0 turns it off. */
export function openRequestLogs({ config, database, log, gauges }: Ground): RequestLogging {
  const { file } = config.current;
  const recorder = new RequestLogRecorder(publicPaths(file), file.usage.requestLogRetention > 0);
  const flush = new RequestLogFlush(recorder, new RequestLogWriter(database.db, database.kind), log.logger);
  gauges.push(flush);
  config.onChange(({ config: next }) => () => {
    recorder.isOn = next.file.usage.requestLogRetention > 0;
  });
  return { recorder, flush };
}
