import Providers
import TestSupport

/// A real server behind the sandbox, in place of an emulated provider: its owner's view and actions, past the sandbox.
protocol RealStorage: Sendable {
    /// Creates a place for another person.
    /// - Returns: the credentials that a phone presents for it.
    func addPerson(to sandbox: SandboxControl) throws -> PresentedCredentials
    /// The files in a person's place.
    func files(of person: PresentedCredentials) throws -> [StoredFile]
    func contents(of name: String, of person: PresentedCredentials) throws -> [UInt8]?
    func store(_ bytes: [UInt8], as name: String, of person: PresentedCredentials) throws
    func delete(_ name: String, of person: PresentedCredentials) throws
    /// Makes the server reject the person's credentials from now on.
    func revoke(_ person: PresentedCredentials, in sandbox: SandboxControl) throws
}
