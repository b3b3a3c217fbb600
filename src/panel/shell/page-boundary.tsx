/** Where a page could not be loaded or shown: what to do instead of a page that is white. */
import { Component, type ReactNode } from 'react';
import { Unreachable } from '../api/problem.js';
import { Failure } from '../words/failure.js';

interface PageBoundaryProps {
  /** Where the reader is: going elsewhere is a new try. */
  readonly at: string;
  readonly children: ReactNode;
}

interface Thrown {
  readonly error: unknown;
}

interface PageBoundaryState {
  readonly at: string;
  readonly thrown: Thrown | null;
}

/** PageBoundary shows why a page is not there, and leaves everything around it as it is. */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override readonly state: PageBoundaryState = { at: this.props.at, thrown: null };

  static getDerivedStateFromError(error: unknown): Partial<PageBoundaryState> {
    return { thrown: { error } };
  }

  static getDerivedStateFromProps({ at }: PageBoundaryProps, state: PageBoundaryState): PageBoundaryState | null {
    return at === state.at ? null : { at, thrown: null };
  }

  override render(): ReactNode {
    const { thrown } = this.state;
    return thrown === null ? this.props.children : <Failure error={thrown.error} again={() => void this.again()} />;
  }

  /**
   * Loads the whole page anew: after an update of the program the files of the one before are gone. Not while nobody
   * answers, or the browser would show a page of its own.
   */
  private async again(): Promise<void> {
    try {
      await fetch('/', { method: 'HEAD', cache: 'no-store' });
      location.reload();
    } catch (error) {
      this.setState({ thrown: { error: new Unreachable('No response came', { cause: error }) } });
    }
  }
}
