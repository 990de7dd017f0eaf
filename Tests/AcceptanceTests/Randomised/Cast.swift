import SyncModel
import TestSupport

/// The people of a run, with their accounts and devices.
struct Cast {
    /// People who take part if the server accepts their kind of account. A new kind requires a person here and its
    /// addresses in ``CloudTrouble``.
    private static let candidates = [
        Person("Anna", .google), Person("Ben", .google), Person("Chris", .facebook), Person("Dora", .facebook),
        Person("Emma", .microsoft), Person("Finn", .dropbox),
    ]
    static let devicesEach = 2

    /// The people who take part.
    let people: [Person]
    /// Each person on each of their devices.
    let callers: [Caller]
    /// All accounts, including former ones.
    private(set) var accounts: [Account: SandboxAccount] = [:]
    /// The account that each person signs in with.
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

    /// The account that the person signs in with.
    func activeAccount(of person: Person) -> Account { active[person] ?? person.firstAccount }

    func account(of person: Person) throws -> SandboxAccount { try known(activeAccount(of: person)) }

    func known(_ account: Account) throws -> SandboxAccount {
        guard let known = accounts[account] else { throw StackError.malformedSetting("no \(account)") }
        return known
    }

    /// The possible storages.
    var storages: [Provider] {
        let providers = Set(people.map(\.firstProvider)).filter { $0.storage != nil }
        return providers.sorted { $0.rawValue < $1.rawValue }
    }

    /// Signs the person in again, as before creating a user, so that their app gets a new code.
    mutating func signInAgain(_ person: Person) throws { try signInAgain(with: activeAccount(of: person)) }

    mutating func signInAgain(with account: Account) throws {
        let known = try known(account)
        accounts[account] =
            account.provider == .google
            ? try sandbox.newAuthorizationCode(of: known, askingForConsent: true) : try sandbox.account(known.id)
    }

    /// Creates another account for the person.
    mutating func add(_ account: Account) throws {
        guard let provider = account.provider.inSandbox else {
            throw StackError.malformedSetting("provider \(account.provider)")
        }
        accounts[account] = try sandbox.createAccount(provider, name: account.person.name)
    }

    /// Selects the account that the person signs in with from now on.
    mutating func take(_ account: Account) { active[account.person] = account }

    /// All texts that must never appear in a log.
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
