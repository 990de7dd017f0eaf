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
    /// All accounts that anybody has had.
    private(set) var accounts: [Account: SandboxAccount] = [:]
    /// With which of them everybody signs in.
    private var active: [Person: Account] = [:]
    /// Whether the server is a debugging build, which has CheckPrimaryCreds.
    let canCheckPrimaryCreds: Bool
    private let sandbox: SandboxControl

    init(_ server: TestServer, _ random: inout SeededGenerator) throws {
        sandbox = server.sandbox
        var callers: [Caller] = []
        var people: [Person] = []
        for person in Self.candidates {
            guard let provider = person.firstProvider.inSandbox else {
                throw StackError.malformedSetting("provider \(person.firstProvider)")
            }
            let account = try server.sandbox.createAccount(provider, name: person.name)
            let headers = account.headers + [("SyncServer-Device-UUID", random.uuid())]
            let reply = try server.call("GET", "CheckCreds", headers: headers)
            if reply.json?.code?.text == "sign_in_type_not_allowed" { continue }
            accounts[person.firstAccount] = account
            active[person] = person.firstAccount
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

    /// With which the person signs in.
    func activeAccount(of person: Person) -> Account { active[person] ?? person.firstAccount }

    func account(of person: Person) throws -> SandboxAccount { try known(activeAccount(of: person)) }

    func known(_ account: Account) throws -> SandboxAccount {
        guard let known = accounts[account] else { throw StackError.malformedSetting("no \(account)") }
        return known
    }

    /// The storages that people may have.
    var storages: [Provider] {
        let providers = Set(people.map(\.firstProvider)).filter { $0.storage != nil }
        return providers.sorted { $0.rawValue < $1.rawValue }
    }

    /// The person signs in on the device once more, as before making a user: their app gets a new code.
    mutating func signInAgain(_ person: Person) throws { try signInAgain(with: activeAccount(of: person)) }

    mutating func signInAgain(with account: Account) throws {
        let known = try known(account)
        accounts[account] =
            account.provider == .google
            ? try sandbox.newAuthorizationCode(of: known, askingForConsent: true) : try sandbox.account(known.id)
    }

    /// The person gets another account.
    mutating func add(_ account: Account) throws {
        guard let provider = account.provider.inSandbox else {
            throw StackError.malformedSetting("provider \(account.provider)")
        }
        accounts[account] = try sandbox.createAccount(provider, name: account.person.name)
    }

    /// From now on the person signs in with that account.
    mutating func take(_ account: Account) { active[account.person] = account }

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

extension Provider {
    fileprivate var inSandbox: SandboxProvider? { SandboxProvider(rawValue: rawValue) }
}
