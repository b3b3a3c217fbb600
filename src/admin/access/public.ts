/** Marks the controllers that the guards of the admin API skip: health, metrics and event intake. */
import { SetMetadata, type ExecutionContext } from '@nestjs/common';

const PUBLIC = 'trailgate:public';

/**
 * Makes the guards of the admin API skip a controller. Every client that reaches the port can call the controller,
 * unless the controller has its own guard.
 */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

/** Reports whether a request is for a controller with `@Public`. */
export function isPublic(context: ExecutionContext): boolean {
  return Reflect.getMetadata(PUBLIC, context.getClass()) === true;
}
