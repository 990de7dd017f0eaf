/// A user has switched to another account since their record was read: an operation begun with the former account
/// cannot continue, but can be restarted with the current one.
public struct AccountSwitched: Error {
    public init() {}
}
