/**
 * Dialog that edits a webhook endpoint: URL, description, events and delivery settings. If someone else changed the
 * endpoint in the meantime, the user can merge or discard their changes.
 */
import { useLingui } from '@lingui/react/macro';
import { EditDialog as Dialog, type EditTarget } from '../layout/edit-dialog.js';
import { EndpointFields, useEndpointChecks } from './endpoint-fields.js';
import { changeOf, valuesOf, type EndpointValues } from './endpoint-values.js';
import { refetchEndpoint, updateEndpoint, type Endpoint } from './webhooks.js';

export function EditDialog({ shown, ...edited }: EditTarget<Endpoint>) {
  const { t, i18n } = useLingui();
  return (
    <Dialog<Endpoint, EndpointValues>
      title={t`Edit endpoint`}
      shown={shown}
      {...edited}
      valuesOf={valuesOf}
      useChecks={useEndpointChecks}
      save={(before, after, etag) => updateEndpoint(shown.id, changeOf(before, after, i18n.locale), etag)}
      refetch={() => refetchEndpoint(shown)}
    >
      {(values, onChange) => <EndpointFields values={values} onChange={onChange} />}
    </Dialog>
  );
}
