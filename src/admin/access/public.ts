/** Marks controllers that skip the guards of the admin API: health, metrics and event intake. */
import { SetMetadata, type ExecutionContext } from '@nestjs/common';

const PUBLIC = 'trailgate:public';

/** Lets every client that reaches the port call a controller, unless the controller has its own guard. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

/** Reports whether a request is for a public controller. */
export function isPublic(context: ExecutionContext): boolean {
  return Reflect.getMetadata(PUBLIC, context.getClass()) === true;
}
