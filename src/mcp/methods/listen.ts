/**
 * Implements `subscriptions/listen` (2026-07-28, Subscriptions), which opens an event stream with notifications of
 * changes to the tool list. Resources and prompts do not change, so the server has no notifications for them.
 */
import { isObject } from '../protocol/message.js';
import { invalidParams } from '../protocol/rpc-error.js';
import type { Method } from '../method-call.js';
import { countCall } from '../mcp-metrics.js';

export const listen: Method = {
  name: 'subscriptions/listen',
  era: 'modern',
  serve(call) {
    const { notifications } = call.message.params;
    if (!isObject(notifications)) {
      call.respondWithError(invalidParams('"notifications" must be an object that says what to listen to.'));
      return;
    }
    void call.countFree().then((problem) => {
      if (problem !== undefined) {
        call.respondWithProblem(problem);
        return;
      }
      countCall('subscriptions/listen', 'success');
      call.parts.subscriptions.open(
        call.request,
        call.message.id,
        call.key,
        notifications['toolsListChanged'] === true,
      );
    });
  },
};
