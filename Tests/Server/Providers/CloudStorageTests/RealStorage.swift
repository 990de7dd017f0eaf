import Providers
import TestSupport

/// A real server behind the sandbox, in place of an emulated provider: what its owner sees and does, past the sandbox.
protocol RealStorage: Sendable {
    /// Makes a place for another person.
    /// - Returns: what a phone presents for it.
    func addPerson(to sandbox: SandboxControl) throws -> PresentedCredentials
    /// What lies in a person's place.
    func files(of person: PresentedCredentials) throws -> [StoredFile]
    func contents(of name: String, of person: PresentedCredentials) throws -> [UInt8]?
    func store(_ bytes: [UInt8], as name: String, of person: PresentedCredentials) throws
    func delete(_ name: String, of person: PresentedCredentials) throws
    /// Makes the server refuse the person's credentials from now on.
    func revoke(_ person: PresentedCredentials, in sandbox: SandboxControl) throws
}
