/** Marks controllers that need no credentials: health and metrics. */
import { SetMetadata, type ExecutionContext } from '@nestjs/common';

const PUBLIC = 'trailgate:public';

/** Opens a controller to every client that reaches the port. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

/** Reports whether a request is for a public controller. */
export function isPublic(context: ExecutionContext): boolean {
  return Reflect.getMetadata(PUBLIC, context.getClass()) === true;
}
