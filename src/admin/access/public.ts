/** Controllers that everybody may ask who reaches the port: health and metrics. */
import { SetMetadata, type ExecutionContext } from '@nestjs/common';

const PUBLIC = 'trailgate:public';

/** Opens a controller to everybody who reaches the port. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

/** Whether a request is for such a controller. */
export function isPublic(context: ExecutionContext): boolean {
  return Reflect.getMetadata(PUBLIC, context.getClass()) === true;
}
