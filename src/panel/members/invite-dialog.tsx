/** Invites a member. Without email, the link is shown once. */
import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { api, unwrap } from '../api/client.js';
import { Dialog } from '../layout/dialog.js';
import { DialogForm } from '../layout/dialog-form.js';
import { FormSelect, FormText } from '../layout/form-fields.js';
import { useAccount } from '../session/accounts.js';
import type { Role } from '../../members/permissions.js';
import { MadeInvitation, type Made } from './made-invitation.js';
import { ResendForm, type Invitation } from './resend-dialog.js';
import { useRoleChoice } from './roles.js';

/** Number of recent invitations to search for an open one to the same address. */
const NEWEST = 100;

interface InviteDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** Finds the open invitation of an address among the newest invitations. */
async function findOpen(id: string, email: string): Promise<Invitation | undefined> {
  const params = { path: { id }, query: { limit: NEWEST } };
  const { data } = await unwrap(api.GET('/admin/v1/accounts/{id}/invitations', { params }));
  return data.find((each) => each.status === 'open' && each.email.toLowerCase() === email.toLowerCase());
}

export function InviteDialog({ opened, onClose, onMade }: InviteDialogProps) {
  const { t } = useLingui();
  const { id } = useAccount();
  const roles = useRoleChoice();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [made, setMade] = useState<Made | null>(null);
  const [open, setOpen] = useState<Invitation | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const close = (): void => {
    setMade(null);
    setOpen(null);
    setError(null);
    onClose();
  };
  const take = (invitation: Made): void => {
    setMade(invitation);
    setOpen(null);
    setEmail('');
    onMade();
  };
  const invite = async (): Promise<void> => {
    setPending(true);
    setError(null);
    try {
      const before = await findOpen(id, email.trim());
      if (before !== undefined) return setOpen(before);
      const body = { email: email.trim(), role };
      const invitation = await unwrap(
        api.POST('/admin/v1/accounts/{id}/invitations', { params: { path: { id } }, body }),
      );
      take({ email: invitation.email, link: invitation.link ?? null });
    } catch (caught) {
      setError(caught);
    } finally {
      setPending(false);
    }
  };
  return (
    <Dialog opened={opened} title={t`Invite member`} closeOnClickOutside={false} onClose={close}>
      {made !== null ? (
        <MadeInvitation made={made} onDone={close} />
      ) : open !== null ? (
        <ResendForm invitation={open} onMade={take} onCancel={close} />
      ) : (
        <DialogForm
          does={t`Invite`}
          error={error}
          isPending={isPending}
          checks={{ email: email.trim() === '' && t`Fill this in.` }}
          gap="md"
          onSubmit={() => void invite()}
          onCancel={close}
        >
          <FormText
            field="email"
            label={t`Email`}
            type="email"
            required
            withAsterisk={false}
            data-autofocus
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <FormSelect
            field="role"
            label={t`Role`}
            allowDeselect={false}
            data={roles}
            value={role}
            onChange={(value) => value !== null && setRole(value as Role)}
          />
        </DialogForm>
      )}
    </Dialog>
  );
}
