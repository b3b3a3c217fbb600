/** Spanish titles and actions of the error codes. The English ones are in the error catalogue. */
import type { PUBLIC_ERRORS } from '../../platform/problems/public-errors.js';

const RETRY_LATER =
  'Reintente con pausas cada vez mayores. Si persiste, indique el `request_id` al servicio de asistencia.';
const CHECK_EFFECT = 'Una solicitud que modifica algo puede haber tenido efecto. Compruébelo antes de repetirla.';
const REPLACE_KEY = 'Sustitúyala por una clave nueva.';

/** Meaning of an error code and what to do, in Markdown that uses only `code`. */
export interface TranslatedError {
  readonly title: string;
  readonly action: string;
}

export const ERRORS_ES: Readonly<Record<keyof typeof PUBLIC_ERRORS, TranslatedError>> = {
  bad_request: {
    title: 'No se pudo interpretar la solicitud',
    action: 'Use una biblioteca HTTP y compruebe si un proxy modifica la solicitud en el camino.',
  },
  invalid_path: {
    title: 'La API no acepta la forma de esta ruta',
    action: 'Construya la ruta a partir de la plantilla documentada y codifique cada parámetro por separado.',
  },
  request_timeout: {
    title: 'La solicitud no llegó a tiempo',
    action: 'Compruebe su conexión y envíe el cuerpo sin pausas largas.',
  },
  content_too_large: {
    title: 'El cuerpo de la solicitud es demasiado grande',
    action: 'Envíe menos datos cada vez, por ejemplo en varias solicitudes.',
  },
  uri_too_long: { title: 'La URL es demasiado larga', action: 'Use menos parámetros o más cortos.' },
  unsupported_media_type: {
    title: 'El tipo de contenido no se admite',
    action: 'Ponga en `Content-Type` un tipo que indique la referencia, normalmente `application/json`.',
  },
  headers_too_large: {
    title: 'Los encabezados de la solicitud son demasiado grandes',
    action: 'Envíe menos encabezados o más cortos, y omita las cookies.',
  },
  misdirected_request: {
    title: 'Este nombre de host no se atiende aquí',
    action: 'Use la dirección documentada. Los operadores añaden nombres en `gateway.hosts` o en `admin.hosts`.',
  },
  tls_required: {
    title: 'Esta API solo funciona por HTTPS',
    action: 'Use `https://` y rote las claves que se hayan enviado sin cifrar.',
  },
  not_implemented: {
    title: 'El servidor no admite lo que se pidió',
    action:
      'Envíe uno de los métodos que indica la referencia, en mayúsculas, y ningún `Transfer-Encoding` salvo `chunked`.',
  },
  route_not_found: {
    title: 'No existe esta ruta',
    action: 'Compare la ruta con la referencia, también en mayúsculas y minúsculas.',
  },
  method_not_allowed: {
    title: 'Esta ruta no admite el método',
    action: 'Use uno de los métodos del encabezado `Allow`.',
  },
  operation_brownout: {
    title: 'Esta operación se desactiva un tiempo antes de retirarse',
    action: 'Pase a la operación que indica el encabezado `Link` antes de la fecha de `Sunset`.',
  },
  operation_sunset: {
    title: 'Esta operación se ha retirado',
    action: 'Pase a la operación que indica el encabezado `Link`.',
  },
  origin_not_allowed: {
    title: 'Este nombre de host u origen no está permitido',
    action:
      'Use la dirección que recibió, o pida al operador que añada el nombre o la página a `mcp` en `gateway.yaml`.',
  },
  too_many_failed_attempts: {
    title: 'Demasiados intentos fallidos desde esta dirección',
    action: 'Deténgase, use la clave correcta y reintente después de `Retry-After`.',
  },
  malformed_authorization: {
    title: 'El encabezado Authorization no es válido',
    action: 'Envíe exactamente un encabezado: `Authorization: Bearer tg_live_…`.',
  },
  missing_api_key: {
    title: 'Se necesita una clave de API',
    action: 'Envíe `Authorization: Bearer` con su clave. Las claves en la URL no se leen.',
  },
  invalid_api_key: {
    title: 'La clave de API no es válida',
    action: 'Compárela con la clave que guardó. No reintente con la misma clave.',
  },
  expired_api_key: { title: 'La clave de API ha vencido', action: REPLACE_KEY },
  revoked_api_key: {
    title: 'La clave de API fue revocada',
    action: `Pregunte quién la revocó y por qué. ${REPLACE_KEY}`,
  },
  key_paused: {
    title: 'La clave de API está en pausa',
    action: 'No reintente hasta que se reanude. Pregunte quién la puso en pausa y por qué.',
  },
  ip_not_allowed: {
    title: 'La clave de API no puede usarse desde esta dirección',
    action: 'Envíe la solicitud desde una dirección permitida o añada la suya a la clave.',
  },
  account_suspended: { title: 'La cuenta está suspendida', action: 'Contacte con el servicio de asistencia.' },
  authentication_unavailable: {
    title: 'Las claves de API no se pueden comprobar en este momento',
    action: RETRY_LATER,
  },
  insufficient_scope: {
    title: 'A la clave de API le falta un permiso',
    action: 'Use una clave con los permisos que faltan o añádalos a esta.',
  },
  invalid_idempotency_key: {
    title: 'El encabezado Idempotency-Key no es válido',
    action: 'Envíe de 1 a 255 caracteres ASCII imprimibles, como un UUID, con comillas o sin ellas.',
  },
  idempotency_in_progress: {
    title: 'La solicitud todavía está en curso',
    action: 'Envíela de nuevo después de `Retry-After` para obtener su respuesta.',
  },
  idempotency_outcome_unknown: {
    title: 'Se desconoce el resultado de la solicitud',
    action:
      'Compruebe si tuvo efecto. Si no, envíela con una clave nueva. La misma clave da este error hasta que venza.',
  },
  idempotency_not_stored: {
    title: 'La solicitud se ejecutó, pero su respuesta no se guardó',
    action: 'Lea lo que creó o modificó. No se ejecuta de nuevo con esta clave.',
  },
  idempotency_mismatch: {
    title: 'La Idempotency-Key pertenece a otra solicitud',
    action: 'Use una clave nueva para cada solicitud nueva, y la misma solo para reintentarla.',
  },
  too_many_idempotent_retries: {
    title: 'Demasiados reintentos',
    action: 'Espere lo que indica `Retry-After` y reintente con pausas cada vez mayores.',
  },
  idempotency_unavailable: {
    title: 'Las claves de idempotencia no se pueden consultar en este momento',
    action: RETRY_LATER,
  },
  rate_limited: {
    title: 'Demasiadas solicitudes',
    action:
      'Espere los segundos de `Retry-After`, reduzca el ritmo y vigile `RateLimit`. Sin `Retry-After`, la solicitud cuesta más que el límite y nunca tendrá éxito.',
  },
  quota_exceeded: {
    title: 'Cuota mensual agotada',
    action: 'No reintente antes de `resets_at`, o solicite un plan mayor.',
  },
  quota_unavailable: { title: 'Los límites no se pueden comprobar en este momento', action: RETRY_LATER },
  too_many_usage_queries: {
    title: 'Demasiadas consultas de consumo',
    action: 'Espere lo que indica `Retry-After` y guarde la respuesta. Sin `group_by` no existe este límite.',
  },
  too_many_concurrent_requests: {
    title: 'Demasiadas solicitudes simultáneas',
    action: 'Espere lo que indica `Retry-After` y envíe menos solicitudes a la vez.',
  },
  backend_unreachable: { title: 'No se pudo conectar con el backend', action: RETRY_LATER },
  backend_bad_response: { title: 'El backend devolvió una respuesta no válida', action: CHECK_EFFECT },
  backend_unavailable: { title: 'El backend no está disponible', action: RETRY_LATER },
  backend_timeout: { title: 'El backend no respondió a tiempo', action: CHECK_EFFECT },
  backend_error: {
    title: 'El backend falló',
    action: `${CHECK_EFFECT} Si persiste, indique el \`request_id\` al servicio de asistencia.`,
  },
  request_refused: { title: 'La solicitud fue rechazada', action: 'Cambie la solicitud como indica `detail`.' },
  validation_failed: {
    title: 'Algunos campos no son válidos',
    action: 'Corrija los campos que señala `errors`.',
  },
  payment_required: { title: 'Se requiere un pago', action: 'Compruebe el plan de la cuenta.' },
  forbidden: { title: 'Esto no está permitido', action: 'No reintente; pregunte al propietario de la cuenta.' },
  resource_not_found: {
    title: 'No existe este recurso',
    action: 'Compare el id; puede haberse eliminado o pertenecer a otra cuenta.',
  },
  not_acceptable: {
    title: 'El formato solicitado no está disponible',
    action: 'Acepte `application/json`.',
  },
  conflict: {
    title: 'La solicitud entra en conflicto con el estado actual',
    action: 'Lea el estado actual y decida de nuevo.',
  },
  resource_gone: { title: 'El recurso ya no existe', action: 'Deje de usar su id.' },
  precondition_failed: {
    title: 'No se cumplió una condición previa',
    action: 'Léalo de nuevo y repita el cambio sobre el estado nuevo.',
  },
  backend_rate_limited: {
    title: 'El backend limita el ritmo de las solicitudes',
    action: 'Espere lo que indica `Retry-After`, o unos segundos si falta.',
  },
  invalid_parameter: { title: 'Un parámetro no es válido', action: 'Corríjalo como indica `errors`.' },
  invalid_cursor: { title: 'El cursor no es válido', action: 'Empiece de nuevo sin `cursor`.' },
  shutting_down: { title: 'El servidor se está apagando', action: 'Reintente de inmediato.' },
  gateway_overloaded: {
    title: 'El gateway está sobrecargado',
    action:
      'Espere lo que indica `Retry-After` y reintente con pausas cada vez mayores. Si persiste, indique el `request_id` al servicio de asistencia.',
  },
  internal_error: { title: 'Algo falló por nuestra parte', action: RETRY_LATER },
};
