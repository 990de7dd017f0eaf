public import FoundationEssentials
public import SyncProtocol

/// Settings that contradict each other, each with the end of a sentence about the problem.
public typealias SettingObjections = @Sendable (SettingValues) -> [(setting: Setting, text: String)]

/// Sign-in with a company's accounts, and the storage that they include.
public struct SignInOffer: Sendable {
    /// Creates the account provider from the configuration; `now` is the database's clock.
    public typealias AccountMaker =
        @Sendable (_ values: SettingValues, _ now: @escaping @Sendable () -> Date) -> (any AccountProvider)?

    /// Creates the storage from the relevant part of the configuration.
    public typealias StorageMaker = @Sendable (_ values: SettingValues) -> any CloudProvider

    public let accountType: AccountType
    public let settings: [Setting]
    /// Finds settings that contradict each other.
    public let objections: SettingObjections
    /// Returns `nil` if the values cannot be used; in that case their settings have raised objections.
    public let makeAccount: AccountMaker
    /// Creates the storage of the accounts; `nil` for accounts without storage.
    public let makeStorage: StorageMaker?
    /// How an operator tests the accounts.
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
    /// Adds the service to the others; `now` returns seconds since 1970.
    public typealias Installer =
        @Sendable (_ values: SettingValues, inout PushServices, _ now: @escaping @Sendable () -> Int64) -> Void

    /// The configuration file's object that holds the settings of the service; its presence enables the service.
    public let section: String
    public let settings: [Setting]
    /// Finds settings that contradict each other.
    public let objections: SettingObjections
    /// Adds the service; if its secret is not among the values, as a service that another process runs.
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
