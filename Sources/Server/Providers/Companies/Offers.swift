public import FoundationEssentials
public import SyncProtocol

/// What is wrong with settings that do not fit together, each with the end of a sentence about it.
public typealias SettingObjections = @Sendable (SettingValues) -> [(setting: Setting, text: String)]

/// Sign-in with a company's accounts, and the storage that comes with them.
public struct SignInOffer: Sendable {
    /// Makes the accounts' provider of what the configuration says; `now` is the clock of the database.
    public typealias AccountMaker =
        @Sendable (_ values: SettingValues, _ now: @escaping @Sendable () -> Date) -> (any AccountProvider)?

    /// Makes the storage of what the configuration says, as far as it matters there.
    public typealias StorageMaker = @Sendable (_ values: SettingValues) -> any CloudProvider

    public let accountType: AccountType
    public let settings: [Setting]
    /// What is wrong with settings that do not fit together.
    public let objections: SettingObjections
    /// `nil` if the values cannot be used; their settings have objected to them then.
    public let makeAccount: AccountMaker
    /// Makes the storage of the accounts; `nil` for accounts without one.
    public let makeStorage: StorageMaker?
    /// How an operator tries the accounts.
    public let trial: TrialGuide

    init(
        _ accountType: AccountType, settings: [Setting], objections: @escaping SettingObjections = { _ in [] },
        trial: TrialGuide, storage: StorageMaker? = nil, account: @escaping AccountMaker
    ) {
        self.accountType = accountType
        self.settings = settings
        self.objections = objections
        self.trial = trial
        makeStorage = storage
        makeAccount = account
    }

    /// The setting that enables it.
    public var enablingKey: String { "allowedSignInTypes.\(accountType.rawValue)" }
}

/// Push through a company's service.
public struct PushOffer: Sendable {
    /// Adds the service to the others; `now` is seconds since 1970.
    public typealias Installer =
        @Sendable (_ values: SettingValues, inout PushServices, _ now: @escaping @Sendable () -> Int64) -> Void

    /// The object of the configuration file that holds its settings; its presence enables the service.
    public let section: String
    public let settings: [Setting]
    /// What is wrong with settings that do not fit together.
    public let objections: SettingObjections
    /// Adds the service; as one of another process if its secret is not among the values.
    public let install: Installer

    init(
        section: String, settings: [Setting],
        objections: @escaping SettingObjections = { _ in [] }, install: @escaping Installer
    ) {
        self.section = section
        self.settings = settings
        self.objections = objections
        self.install = install
    }
}
