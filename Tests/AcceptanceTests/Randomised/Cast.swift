import SyncModel
import TestSupport

/// The people of a run with their accounts and devices.
struct Cast {
    /// Who takes part if the server accepts that kind of account. Another kind needs a person here, and its places in
    /// ``CloudTrouble``.
    private static let candidates = [
        Person("Anna", .google), Person("Ben", .google), Person("Chris", .facebook), Person("Dora", .facebook),
        Person("Emma", .microsoft), Person("Finn", .dropbox),
    ]
    static let devicesEach = 2

    /// Who takes part.
    let people: [Person]
    /// Everybody at each of their devices.
    let callers: [Caller]
    private(set) var accounts: [Person: SandboxAccount] = [:]
    /// Whether the server is a debugging build, which has CheckPrimaryCreds.
    let canCheckPrimaryCreds: Bool
    private let sandbox: SandboxControl

    init(_ server: TestServer, _ random: inout SeededGenerator) throws {
        sandbox = server.sandbox
        var callers: [Caller] = []
        var people: [Person] = []
        for person in Self.candidates {
            guard let provider = SandboxProvider(rawValue: person.provider.rawValue) else {
                throw StackError.malformedSetting("provider \(person.provider)")
            }
            let account = try server.sandbox.createAccount(provider, name: person.name)
            let headers = account.headers + [("SyncServer-Device-UUID", random.uuid())]
            let reply = try server.call("GET", "CheckCreds", headers: headers)
            if reply.json?.code?.text == "sign_in_type_not_allowed" { continue }
            accounts[person] = account
            people.append(person)
            for _ in 0..<Self.devicesEach { callers.append(Caller(person, on: random.uuid())) }
        }
        canCheckPrimaryCreds =
            try server.call("GET", "CheckPrimaryCreds").json?.code?.text == "credentials_missing"
        self.people = people
        self.callers = callers
    }

    /// The devices of one person.
    func callers(of person: Person) -> [Caller] { callers.filter { $0.person == person } }

    func account(of person: Person) throws -> SandboxAccount {
        guard let account = accounts[person] else { throw StackError.malformedSetting("no account of \(person)") }
        return account
    }

    /// The person signs in on the device once more, as before making a user: their app gets a new code.
    mutating func signInAgain(_ person: Person) throws {
        guard person.provider == .google else {
            accounts[person] = try sandbox.account(account(of: person).id)
            return
        }
        accounts[person] = try sandbox.newAuthorizationCode(of: account(of: person), askingForConsent: true)
    }

    /// Everything that must never be found in a log.
    func secrets() throws -> [String] {
        try accounts.values.flatMap { account in
            let now = try sandbox.account(account.id)
            return (account.headers + now.headers)
                .filter { !["x-token-type", "x-account-id", "x-account-details"].contains($0.name.lowercased()) }
                .map(\.value) + [account.accessToken, now.accessToken]
        }
    }
}
