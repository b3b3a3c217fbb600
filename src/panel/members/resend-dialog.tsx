/**
 * Dialog that resends an open invitation with a new link. The dialog first warns that the previous link stops working.
 */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { useIdempotentRequest } from '../api/idempotent-request.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { useRoleWords } from './roles.js';
import { MadeInvitation, type Made } from './made-invitation.js';

export type Invitation = components['schemas']['Invitation'];

interface ResendFormProps {
  readonly invitation: Invitation;
  readonly onMade: (made: Made) => void;
  readonly onCancel: () => void;
}

/** ResendForm asks for confirmation and resends the invitation. The invite dialog also uses this form. */
export function ResendForm({ invitation, onMade, onCancel }: ResendFormProps) {
  const { t } = useLingui();
  const { error, isPending, send } = useIdempotentRequest();
  const role = useRoleWords()[invitation.role];
  const resend = () =>
    send(async () => {
      const params = { path: { id: invitation.id } };
      const { email, link } = await unwrap(api.POST('/admin/v1/invitations/{id}/resend', { params }));
      onMade({ email, link });
    });
  return (
    <DialogForm does={t`Resend`} error={error} isPending={isPending} onSubmit={() => void resend()} onCancel={onCancel}>
      <Text className="name">
        <Trans>
          {invitation.email} is already invited ({role}). Resending makes a new link. The previous link stops working.
        </Trans>
      </Text>
    </DialogForm>
  );
}

interface ResendDialogProps {
  /** Invitation to resend. Null closes the dialog, except while the dialog shows a new link. */
  readonly invitation: Invitation | null;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

export function ResendDialog({ invitation, onClose, onMade }: ResendDialogProps) {
  const { t } = useLingui();
  const [made, setMade] = useState<Made | null>(null);
  const close = (): void => {
    setMade(null);
    onClose();
  };
  return (
    <Dialog
      opened={invitation !== null || made !== null}
      title={t`Resend the invitation`}
      closeOnClickOutside={made === null}
      onClose={close}
    >
      {made !== null && <MadeInvitation made={made} onDone={close} />}
      {made === null && invitation !== null && (
        <ResendForm
          invitation={invitation}
          onMade={(sent) => {
            setMade(sent);
            onMade();
          }}
          onCancel={close}
        />
      )}
    </Dialog>
  );
}
