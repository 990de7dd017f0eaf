// The names and signatures of SwiftUI that Examples/AlbumApp uses. Nothing here draws.
public import AppleFoundation
@_exported public import Observation
public import UIKit

// MARK: Views

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

extension Optional: View where Wrapped: View {
    public var body: Never { fatalError() }
}

/// A view that does not depend on others: most of those below, and the result of all modifiers.
public protocol LeafView: View where Body == Never {}

extension LeafView {
    public var body: Never { fatalError() }
}

public struct AnyLeaf: LeafView {}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock() -> EmptyView { EmptyView() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> AnyLeaf { AnyLeaf() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<Content: View>(first: Content) -> AnyLeaf { AnyLeaf() }
    public static func buildEither<Content: View>(second: Content) -> AnyLeaf { AnyLeaf() }
}

public struct EmptyView: LeafView {
    public nonisolated init() {}
}

public struct Text: LeafView {
    public init<S: StringProtocol>(_ content: S) {}
}

public struct Image: LeafView {
    public init(systemName: String) {}
    public init(uiImage: UIImage) {}
    public func resizable() -> Image { self }
}

public struct Group<Content: View>: LeafView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct VStack<Content: View>: LeafView {
    public init(alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content)
    {}
}

public struct List<Content: View>: LeafView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct ScrollView<Content: View>: LeafView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct LazyVGrid<Content: View>: LeafView {
    public init(columns: [GridItem], @ViewBuilder content: () -> Content) {}
}

public struct Section<Content: View>: LeafView {
    public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) {}
}

public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: LeafView {
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content)
    {}
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content)
    where Data.Element: Identifiable, ID == Data.Element.ID {}
}

public struct NavigationStack<Root: View>: LeafView {
    public init(@ViewBuilder root: () -> Root) {}
}

public struct NavigationLink<Label: View, Destination: View>: LeafView {
    public init(@ViewBuilder destination: () -> Destination, @ViewBuilder label: () -> Label) {}
}

public struct Label: LeafView {
    public init<S: StringProtocol>(_ title: S, systemImage name: String) {}
}

public struct Button: LeafView {
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
    public init<S: StringProtocol>(_ title: S, role: ButtonRole?, action: @escaping @MainActor () -> Void) {}
    public init<S: StringProtocol>(_ title: S, systemImage: String, action: @escaping @MainActor () -> Void) {}
    public init<S: StringProtocol>(
        _ title: S, systemImage: String, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) {}
}

public struct TextField: LeafView {
    public init<S: StringProtocol>(_ title: S, text: Binding<String>) {}
}

public struct Menu<Content: View>: LeafView {
    public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) {}
}

public struct ShareLink: LeafView {
    public init(item: URL) {}
}

public enum HorizontalAlignment { case leading, center, trailing }
public enum Alignment { case center, bottomTrailing }
public enum ButtonRole { case cancel, destructive }

public struct GridItem {
    public enum Size { case adaptive(minimum: CGFloat, maximum: CGFloat = .infinity) }
    public init(_ size: Size) {}
}

// MARK: Modifiers

extension View {
    public func navigationTitle<S: StringProtocol>(_ title: S) -> some View { AnyLeaf() }
    public func disabled(_ disabled: Bool) -> some View { AnyLeaf() }
    public func scaledToFill() -> some View { AnyLeaf() }
    public func scaledToFit() -> some View { AnyLeaf() }
    public func clipped() -> some View { AnyLeaf() }
    public func frame(width: CGFloat? = nil, height: CGFloat? = nil) -> some View { AnyLeaf() }
    public func overlay<V: View>(alignment: Alignment = .center, @ViewBuilder content: () -> V) -> some View {
        AnyLeaf()
    }
    public func toolbar<Content: View>(@ViewBuilder content: () -> Content) -> some View { AnyLeaf() }
    public func swipeActions<T: View>(@ViewBuilder content: () -> T) -> some View { AnyLeaf() }
    public func refreshable(action: @escaping @Sendable () async -> Void) -> some View { AnyLeaf() }
    public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { AnyLeaf() }
    public func onSubmit(_ action: @escaping () -> Void) -> some View { AnyLeaf() }
    public func onOpenURL(perform action: @escaping (URL) -> Void) -> some View { AnyLeaf() }
    public func onChange<V: Equatable>(of value: V, _ action: @escaping () -> Void) -> some View { AnyLeaf() }
    public func alert<S: StringProtocol, A: View>(
        _ title: S, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A
    ) -> some View { AnyLeaf() }
    public func alert<S: StringProtocol, A: View, M: View>(
        _ title: S, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A, @ViewBuilder message: () -> M
    ) -> some View { AnyLeaf() }
    public func alert<S: StringProtocol, A: View, M: View, T>(
        _ title: S, isPresented: Binding<Bool>, presenting data: T?, @ViewBuilder actions: (T) -> A,
        @ViewBuilder message: (T) -> M
    ) -> some View { AnyLeaf() }
}

// MARK: State

private final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}

@propertyWrapper public struct State<Value> {
    private let box: Box<Value>
    public init(wrappedValue value: Value) { box = Box(value) }
    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
    public var projectedValue: Binding<Value> { Binding(get: { box.value }, set: { box.value = $0 }) }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() { self.init(wrappedValue: nil) }
}

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    private let read: () -> Value
    private let write: (Value) -> Void
    init(get: @escaping () -> Value, set: @escaping (Value) -> Void) { (read, write) = (get, set) }
    public var wrappedValue: Value {
        get { read() }
        nonmutating set { write(newValue) }
    }
    public var projectedValue: Binding<Value> { self }
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        Binding<Subject>(
            get: { wrappedValue[keyPath: keyPath] },
            set: { new in
                var value = wrappedValue
                value[keyPath: keyPath] = new
                wrappedValue = value
            })
    }
}

@propertyWrapper @dynamicMemberLookup public struct Bindable<Value: AnyObject> {
    public var wrappedValue: Value
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public var projectedValue: Bindable<Value> { self }
    public subscript<Subject>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject> {
        Binding(get: { wrappedValue[keyPath: keyPath] }, set: { wrappedValue[keyPath: keyPath] = $0 })
    }
}

@propertyWrapper public struct Environment<Value> {
    private let keyPath: KeyPath<EnvironmentValues, Value>
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { self.keyPath = keyPath }
    public var wrappedValue: Value { EnvironmentValues()[keyPath: keyPath] }
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { .active }
    @MainActor public var dismiss: DismissAction { DismissAction() }
}

public enum ScenePhase { case background, inactive, active }

@MainActor public struct DismissAction {
    public func callAsFunction() {}
}

// MARK: The app

@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
}

extension Never: Scene {}

@resultBuilder public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}

extension Scene {
    public func onChange<V: Equatable>(of value: V, _ action: @escaping () -> Void) -> some Scene {
        WindowGroup { EmptyView() }
    }
}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}

extension App {
    public static func main() {}
}

@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public var wrappedValue: Delegate { fatalError() }
    public init(_ type: Delegate.Type = Delegate.self) {}
}
